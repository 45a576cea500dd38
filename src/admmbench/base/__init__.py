"""What methods share: the orders of their equations, the compiled pass over a model, steps, optima."""
