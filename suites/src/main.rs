//! `clmatrix`: the suites, with a command line of their own.

clmatrix_harness::command!(clmatrix_suites, config = "config");
