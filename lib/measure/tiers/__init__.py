"""A cache outside the fastest memory: where it lies (`store`), what stays close (`hot`), and what is asked for (`selection`)."""
