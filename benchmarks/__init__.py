"""What the library costs, beside the least it could cost and what people would use instead."""
