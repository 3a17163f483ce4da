"""Models of Hugging Face transformers in this process (extra `hf`).

`agent` is what an exam calls; `engine` batches its calls; `loading` and `hub` find the weights;
`generation` and `scoring` do the work. Only `engine` and what it imports need torch.
"""
