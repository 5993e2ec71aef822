"""The policy library: making its entries, measuring them again, starting searches from them."""
