"""What is known of a page: its gray, its page-wide numbers, what at its sides is no writing."""
