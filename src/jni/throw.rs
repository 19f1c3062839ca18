//! The one gate for errors and panics: both become a Java exception with their whole text, and the JVM lives.

use std::any::Any;

use jni::Env;
use jni::errors::ErrorPolicy;
use jni::strings::JNIString;

/// An error that goes to Java.
#[derive(Debug)]
pub(super) struct BoundaryError {
    closed: bool,
    message: String,
}

impl BoundaryError {
    pub(super) fn new(message: String) -> Self {
        Self { closed: false, message }
    }

    /// The one error that a caller may expect: the coordinator has ended.
    pub(super) fn closed() -> Self {
        Self { closed: true, message: "The native coordinator has ended.".to_owned() }
    }
}

impl From<jni::errors::Error> for BoundaryError {
    fn from(error: jni::errors::Error) -> Self {
        Self::new(format!("A call into the JVM failed: {error}"))
    }
}

impl From<crate::error::Error> for BoundaryError {
    fn from(error: crate::error::Error) -> Self {
        Self::new(error.message)
    }
}

/// Throws `IllegalStateException` for a coordinator that has ended and `RuntimeException` for everything else, unless an
/// exception is pending already: that one passes on untouched.
pub(super) struct ThrowToJava;

impl<T: Default> ErrorPolicy<T, BoundaryError> for ThrowToJava {
    type Captures<'unowned_env_local: 'native_method, 'native_method> = ();

    fn on_error<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        (): &mut Self::Captures<'unowned_env_local, 'native_method>,
        error: BoundaryError,
    ) -> jni::errors::Result<T> {
        throw(env, error.closed, &error.message);
        Ok(T::default())
    }

    fn on_panic<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        (): &mut Self::Captures<'unowned_env_local, 'native_method>,
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        throw(
            env,
            false,
            &format!("The native coordinator panicked, which is a bug: {}", panic_text(payload.as_ref())),
        );
        // Dropping a payload may panic again, and nothing is left to do with it.
        std::mem::forget(payload);
        Ok(T::default())
    }
}

/// Formatted panics carry a `String`, literal ones a `&str`.
fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())
        .unwrap_or("a panic without text")
}

fn throw(env: &mut Env<'_>, closed: bool, message: &str) {
    if env.exception_check() {
        return;
    }
    let class = if closed {
        jni::jni_str!("java/lang/IllegalStateException")
    } else {
        jni::jni_str!("java/lang/RuntimeException")
    };
    // Throwing reports itself as an error; the exception is what the caller sees.
    let _ = env.throw_new(class, JNIString::from(message));
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn s94_the_text_of_a_panic_is_whole() {
        let formatted = catch_unwind(|| panic!("entry {} of {}", 3, 2)).expect_err("panics");
        assert_eq!(panic_text(formatted.as_ref()), "entry 3 of 2");
        let literal = catch_unwind(|| panic!("plain")).expect_err("panics");
        assert_eq!(panic_text(literal.as_ref()), "plain");
        let other = catch_unwind(|| std::panic::panic_any(7)).expect_err("panics");
        assert_eq!(panic_text(other.as_ref()), "a panic without text");
    }
}
