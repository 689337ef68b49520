"""Labs for a class: their page, and the marks of what students hand in."""
