"""The commands of `hush`, by what they are given. What a command needs is imported in it."""
