"""Values and rules that every package of the gateway stands on."""
