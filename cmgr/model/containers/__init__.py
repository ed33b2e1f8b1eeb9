"""Knowledge about containers: seen, held and started again, healed."""
