"""Coverage of intervals over replicates: how often a 95 % interval of eight seeds contains the mean of many others."""
