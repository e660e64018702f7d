"""Made-up lives in which facts change, for the facts bench; see `mnemic.bench.quality.facts.generate`."""
