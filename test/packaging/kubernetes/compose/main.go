// Loads a file of Compose as Docker's Compose does, once with each profile: `go run ./compose FILE PROFILE …`.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	variables := []string{"FAHAO_ADMIN_PASSWORD=a", "MARIADB_PASSWORD=b"}
	for _, profile := range os.Args[2:] {
		options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithEnv(variables), cli.WithProfiles([]string{profile}))
		if err == nil {
			project, problem := options.LoadProject(context.Background())
			if err = problem; err == nil {
				fmt.Printf("%s: %s\n", profile, strings.Join(project.ServiceNames(), ", "))
				continue
			}
		}
		fmt.Fprintf(os.Stderr, "profile %s: %v\n", profile, err)
		os.Exit(1)
	}
}
