"""What finds secrets: one kind of entry a file, `base` what they are, `context` what they are lent."""
