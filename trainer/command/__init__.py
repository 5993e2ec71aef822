"""The command `heddle`: its subcommands, settings and messages."""
