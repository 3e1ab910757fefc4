"""A platform a folder: native event in, ingest message out; text in, post, edit, ask out.

PLATFORMS is the table of them: a new one is a folder here, and one line in it.
"""

PLATFORMS = (
    "slack",
    "rocketchat",
    "discord",
    "matrix",
    "bluebubbles",
    "mattermost",
)
