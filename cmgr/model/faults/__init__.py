"""Knowledge about faults: booked, read, raised by rules, and the chips they take out of use."""
