//! Sets the linker flags that a Node-API addon needs.

fn main() {
    napi_build::setup();
}
