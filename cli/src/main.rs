//! `clmatrix`: the suites, with a command line of their own.

clmatrix_cli::command!(clmatrix_suites, config = "config");
