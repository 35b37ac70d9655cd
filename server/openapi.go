package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
)

// object is a piece of a JSON document.
type object = map[string]any

// describe writes the OpenAPI document of routes below a path prefix, and has each route check
// bodies against the schema that the document shows.
func describe(routes []route, prefix string) ([]byte, error) {
	paths := object{}
	for i := range routes {
		operation, err := routes[i].describe()
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", routes[i].method, routes[i].path, err)
		}
		path := strings.ReplaceAll(routes[i].path, "...}", "}")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(routes[i].method)] = operation
	}
	shapes := object{"Problem": mustSchema[problem](), "OpenAIError": mustSchema[openaiError]()}
	for name, shape := range eventSchemas() {
		shapes[name] = shape
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "Troupe", "version": "1", "description": "Agents, their sessions and what happens in them."},
		"servers": []object{{"url": cmp.Or(prefix, "/")}},
		"paths":   paths,
		"components": object{
			"securitySchemes": object{
				"token":  object{"type": "http", "scheme": "bearer"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": secureCookie, "description": "Where connections are not encrypted its name is troupe, with the port behind it."},
			},
			"schemas": shapes,
		},
		"security": []object{{"token": []string{}}, {"cookie": []string{}}},
	})
}

var pathParameter = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

// describe returns the operation object of a route.
func (r *route) describe() (object, error) {
	parameters := []object{}
	for _, m := range pathParameter.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range r.query {
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.description, "schema": object{"type": "string"}})
	}
	for _, p := range r.headers {
		parameters = append(parameters, object{"name": p.name, "in": "header", "description": p.description, "schema": object{"type": "string"}})
	}
	answer, err := r.describeAnswer()
	if err != nil {
		return nil, err
	}
	failure, media := "Problem", "application/problem+json"
	if strings.HasPrefix(r.path, "/v1/") {
		failure, media = "OpenAIError", "application/json"
	}
	operation := object{
		"summary": r.summary, "parameters": parameters,
		"responses": object{
			strconv.Itoa(r.status): answer,
			"default":              object{"description": "Why it was not done.", "content": object{media: object{"schema": object{"$ref": schemas + failure}}}},
		},
	}
	if r.open {
		operation["security"] = []object{}
	}
	if r.in == nil {
		return operation, nil
	}
	body, err := schemaOf(r.in)
	if err != nil {
		return nil, err
	}
	if r.loose {
		loosen(body)
	}
	operation["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": body}}}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r.check, err = argcheck.Compile(text)
	return operation, err
}

func (r *route) describeAnswer() (object, error) {
	answer := object{"description": http.StatusText(r.status)}
	content := object{}
	if r.media != "application/json" || r.out == nil && r.status != http.StatusNoContent {
		content[r.media] = object{"schema": object{}}
	}
	if r.out != nil {
		schema, err := schemaOf(r.out)
		if err != nil {
			return nil, err
		}
		content["application/json"] = object{"schema": schema}
	}
	if len(content) > 0 {
		answer["content"] = content
	}
	return answer, nil
}

// schemaOf returns the schema of a Go type's JSON.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[troupe.Event]():    {Ref: schemas + "Event"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
}

func mustSchema[T any]() *jsonschema.Schema {
	schema, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		panic("server: " + err.Error())
	}
	return schema
}

// loosen has a schema accept fields that it does not name, and null for nothing.
func loosen(s *jsonschema.Schema) {
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for name, property := range s.Properties {
		loosen(property)
		if property.Type != "" && !slices.Contains(s.Required, name) {
			property.Types, property.Type = []string{"null", property.Type}, ""
		}
	}
	if s.Items != nil {
		loosen(s.Items)
	}
}

func (s *Server) showOpenAPI(c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	_, err := c.w.Write(s.openapi)
	return err
}
