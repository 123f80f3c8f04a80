"""The management plane of a broker: its agent in each of its domains, and the landmark's work where it is landmark.

`agents` is the door, `agent` speaks for this broker, `landmark` decides for a domain, `choosing` says who is best,
`lookout` reports what falls behind.
"""
