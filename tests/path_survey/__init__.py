"""A survey of the comparison over random paths: its budget, how many answers settle, and what a longer look says."""
