// Prepares a directory and runs its test files through terraform-exec. Arguments: the program and the directory.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-exec/tfexec"
)

func main() {
	client, err := tfexec.NewTerraform(os.Args[2], os.Args[1])
	leave(2, err)
	leave(3, client.Init(context.Background()))
	leave(4, client.InitJSON(context.Background(), os.Stdout))
	leave(1, client.Test(context.Background(), os.Stdout))
}

func leave(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(code)
	}
}
