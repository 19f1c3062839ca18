//! Links the library so that it stays mapped: a class loader that goes away must not unmap code that a thread may still run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // dyld of macOS has no such flag; it never unloads an image with thread-local variables, which this one has.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
