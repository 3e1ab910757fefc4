"""Consolidation: facts that say the same become one."""
