"""Values, effects and events of functions under torch.compile, by abstract interpretation."""
