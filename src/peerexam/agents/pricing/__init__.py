"""What a call costs: `prices` is the way in, `price_list` the published prices.

`token_estimate` is what is assumed before a reply is there.
"""
