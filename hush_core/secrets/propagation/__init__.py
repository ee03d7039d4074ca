"""What else holds a found secret: searches by value, near copies, mentions, importers."""
