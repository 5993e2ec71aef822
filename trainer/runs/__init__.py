"""The runs of `heddle train` as a collection: listed, compared, tagged, removed."""
