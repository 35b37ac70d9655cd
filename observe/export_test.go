package observe

// MetricKinds are the kinds of events that Metrics counts.
func MetricKinds() []string { return metricKinds }
