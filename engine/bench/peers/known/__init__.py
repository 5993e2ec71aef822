"""The known peers. A module here defines `PEER`; adding a peer is adding a module."""
