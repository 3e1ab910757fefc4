"""The memory as the page and an administrator's commands show it."""
