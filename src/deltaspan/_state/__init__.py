"""Values in, values out: freezing, differencing, rendering and encoding of states."""
