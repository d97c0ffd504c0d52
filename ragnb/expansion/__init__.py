"""How much around a hit is read: policies, and the expander that carries them out."""
