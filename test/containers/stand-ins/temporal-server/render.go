// Renders Temporal's config_template.yaml with the environment, like dockerize in the image.
package main

import (
	"os"
	"strings"
	"text/template"
)

// orDefault returns a value of the environment, or the fallback if it is unset or empty.
func orDefault(value any, fallback string) string {
	if text, ok := value.(string); ok && text != "" {
		return text
	}
	return fallback
}

func main() {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	functions := template.FuncMap{
		"default": orDefault,
		"lower":   strings.ToLower,
		"split":   strings.Split,
		"trim":    strings.TrimSpace,
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	config := template.Must(template.New("config").Option("missingkey=zero").Funcs(functions).Parse(string(text)))
	if err := config.Execute(os.Stdout, struct{ Env map[string]string }{env}); err != nil {
		panic(err)
	}
}
