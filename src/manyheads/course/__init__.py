"""From lesson text to source, release and solution notebooks."""
