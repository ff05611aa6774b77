//! Initial root file systems of guests: cpio archives in the kernel's "newc" form (kernel:
//! driver-api/early-userspace/buffer-format.rst).

/// Mode bits of file types, inode(7).
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// An archive in the making. Folders stand before what is in them.
#[derive(Debug, Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    /// Adds a folder; `path` has no slash at its beginning.
    #[must_use]
    pub fn folder(self, path: &str) -> Self {
        self.entry(path, DIRECTORY | 0o755, &[])
    }

    /// Adds a file that can be executed.
    #[must_use]
    pub fn program(self, path: &str, content: &[u8]) -> Self {
        self.entry(path, REGULAR | 0o755, content)
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, to: &str) -> Self {
        self.entry(path, LINK | 0o777, to.as_bytes())
    }

    /// The whole archive.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]).bytes
    }

    fn entry(mut self, path: &str, mode: u32, content: &[u8]) -> Self {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("a file of an archive is below 4 GiB");
        let name_size = u32::try_from(path.len() + 1).expect("a path is short");
        let links = 1 + u32::from(mode & 0o170_000 == DIRECTORY);
        // Inode, mode, user, group, links, time, size, four device numbers, length of the name, checksum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            0,
            0,
            name_size,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").into_bytes());
        }
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_what_the_kernel_reads() {
        let archive = Initramfs::default()
            .folder("bin")
            .program("bin/x", b"12345")
            .link("bin/y", "x")
            .finish();
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8(archive).unwrap();
        // 110 bytes of header, "bin" with its end, and no padding since 114 is not a multiple of four: two.
        assert_eq!(&text[..14], "07070100000001");
        assert_eq!(&text[14..22], "000041ED");
        assert_eq!(&text[110..116], "bin\0\0\0");
        let file = &text[116..];
        assert_eq!(&file[14..22], "000081ED");
        assert_eq!(&file[54..62], "00000005");
        assert_eq!(&file[110..116], "bin/x\0");
        assert_eq!(&file[116..124], "12345\0\0\0");
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"), "{text:?}");
    }
}
