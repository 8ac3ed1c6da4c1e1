"""Torchport.cmake, which scikit-build-core finds by the entry point cmake.module."""
