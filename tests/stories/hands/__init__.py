"""A walk of hands: persons do at random what persons do, while chips fault, and dockerd's events are the judge."""
