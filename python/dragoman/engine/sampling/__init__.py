"""From logits to tokens: what may be chosen, how it is drawn, and how likely it was."""
