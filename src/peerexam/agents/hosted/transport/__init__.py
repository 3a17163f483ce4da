"""How bytes reach a server: `base` is what an endpoint needs, the others are its clients.

`reqwest` is the quick one that is used by default; the SDKs' own clients come with `client: sdk`.
"""
