"""The contract: values that pass between the rooms, and the root of their errors.

Standard library and pydantic only; imports no room. Values are frozen. Times are aware
datetimes; sizes are bytes; names of fields carry their units.
"""
