"""What every probe family is built from."""
