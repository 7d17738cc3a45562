"""Which numbers do the chapters print, and what does the lab print today? One module per experiment, each a leaf.

An experiment only arranges calls of the lab and reports; nothing about retrieval is decided here.
"""
