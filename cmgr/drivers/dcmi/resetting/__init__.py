"""All that resets of Ascend chips leave behind, and that the driver itself does for them."""
