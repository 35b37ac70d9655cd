module github.com/troupe-dev/troupe

go 1.26.5

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	pgregory.net/rapid v1.3.0
)

require golang.org/x/text v0.43.0 // indirect
