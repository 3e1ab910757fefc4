"""The demo agent: a real terminal program that needs no key and no network.

Standard library only, and little of it: it starts in some 30 ms. It answers from the header it
was given, so that a newcomer sees what an agent is told. It behaves like the real ones: a live
region with an input box, wrapped text, bracketed paste, Esc, permission prompts, a record of
every reply in its HOME, and its state told in-band (OSC 7501).
"""
