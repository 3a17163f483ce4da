"""Numbers to pictures and files: HTML report, tables, data-set export."""
