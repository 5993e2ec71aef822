"""The policy library: adding entries, verifying them, and starting searches from them."""
