//! Tells the linker how a Node addon is made.

fn main() {
    napi_build::setup();
}
